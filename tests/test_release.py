"""What a release needs: the same version everywhere."""

import importlib.util
from pathlib import Path

import pytest

import rebind

ROOT = Path(__file__).parents[1]
_SPEC = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
assert _SPEC and _SPEC.loader
release = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(release)


def test_the_citation_has_the_version_of_the_package() -> None:
    assert not [
        line for line in release.problems(f"v{rebind.__version__}") if line.startswith(("CITATION", "src"))
    ]


@pytest.mark.parametrize("tag", ["0.1.0", "v1", "v1.2", "release-1.2.3"])
def test_a_tag_is_v_and_three_numbers(tag: str) -> None:
    assert release.problems(tag) == [
        f"the tag must be v, and a version of three numbers, such as v0.2.0; got {tag!r}"
    ]


def test_each_place_with_another_version_is_named() -> None:
    found = release.problems("v999.0.0")
    assert [line.split()[0] for line in found][:3] == [
        "src/rebind/_version.py",
        "CITATION.cff",
        "CHANGELOG.md",
    ]
    assert found[0] == f"src/rebind/_version.py must say 999.0.0; it says {rebind.__version__}"
