"""Only the oracle's Python can import the generators; doctest collection leaves them alone."""

collect_ignore_glob = ["generate*.py", "oracle.py"]
