"""Record what MXNet 1.9.1 computes and writes, for the tests beside this file.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate [networks] [files] [operators] [quantized] [quantize_model] [control_flow]
                                    [unrolled] [updates] [optimizers] [feedforward] [inventory] [names]
                                    [auxiliary_states] [monitored]
    python -m tests.parity.generate --check DIR

Without names, everything is made. ``--check`` reads the files that rebind wrote into ``DIR`` (with
``write_files.py``) and compares them with what they should hold: the direction from rebind to MXNet.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .generate_auxiliary_states import generate_auxiliary_states
from .generate_control_flow import generate_control_flow
from .generate_feedforward import generate_feedforward
from .generate_files import check, generate_files
from .generate_fused import generate_fused
from .generate_inventory import generate_inventory
from .generate_monitored import generate_monitored
from .generate_names import generate_names
from .generate_networks import generate_networks
from .generate_operators import generate_operators
from .generate_optimizers import generate_optimizers
from .generate_quantize_model import generate_quantize_model
from .generate_quantized import generate_quantized
from .generate_unrolled import generate_unrolled
from .generate_updates import generate_updates

#: In this order: the files hold the parameters of the recorded networks.
PARTS = {
    "networks": generate_networks,
    "files": generate_files,
    "operators": generate_operators,
    "quantized": generate_quantized,
    "quantize_model": generate_quantize_model,
    "fused": generate_fused,
    "control_flow": generate_control_flow,
    "auxiliary_states": generate_auxiliary_states,
    "monitored": generate_monitored,
    "unrolled": generate_unrolled,
    "updates": generate_updates,
    "optimizers": generate_optimizers,
    "feedforward": generate_feedforward,
    "inventory": generate_inventory,
    "names": generate_names,
}


def main() -> int:
    """Make the parts that the command line names, or check a folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to make: {', '.join(PARTS)} (all)")
    parser.add_argument(
        "--check", type=Path, metavar="DIR", help="check the files that rebind wrote into DIR"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if arguments.check is not None:
        return min(check(arguments.check), 1)
    for name in PARTS:
        if not arguments.parts or name in arguments.parts:
            PARTS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
