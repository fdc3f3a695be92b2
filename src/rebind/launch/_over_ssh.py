"""Runs a command on another machine: ``python _over_ssh.py SSH-ARGUMENT ...``.

It carries the job's secret by ssh's standard input, where nobody reads it, as command lines can be read by all. The
machine ends the command when that input closes: when this process is ended, or its machine, or the network between.
"""

import os
import subprocess
import sys

if __name__ == "__main__":
    secret = os.environ.get("REBIND_JOB_TOKEN", "")
    with subprocess.Popen(["ssh", *sys.argv[1:]], stdin=subprocess.PIPE, text=True) as ssh:
        assert ssh.stdin is not None  # it is a pipe
        try:
            ssh.stdin.write(f"{secret}\n")
            ssh.stdin.flush()
        except BrokenPipeError:
            pass  # ssh has ended, and says why
        code = ssh.wait()
    sys.exit(code if code >= 0 else 128 - code)
