"""Processes of the package, forked from this one in place of started anew.

A new process takes seconds to import torch; a forked one has it. Whatever can happen to a process
can happen to a forked one: it is killed, interrupted, waited for, and talks through pipes.
"""

import os
import subprocess
import sys
import traceback
import warnings
from importlib import import_module

import jaxtyping


class Forked(subprocess.Popen):
    """Does for `python -m module words` what `Popen` does, by a fork that calls its `main`."""

    def _execute_child(self, args, *given):
        _, _, _, _, cwd, env, _, _, _, *files = given
        process_group = files[-1]
        _, module, *words = args[1:]
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _become(files[0], files[3], files[5])
            os.environ.update(env or {})
            os.chdir(cwd or ".")
            if process_group == 0:
                os.setpgid(0, 0)
            _end(_call(module, words))
        self._child_created = True
        self._close_pipe_fds(*files[:6])


def _become(*files):
    """Take files as input, output and errors, and close all others."""
    for number, file in enumerate(files):
        if file != -1:
            os.dup2(file, number)
    os.closerange(len(files), os.sysconf("SC_OPEN_MAX"))
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    # as in a new process
    warnings.resetwarnings()
    jaxtyping.config.update("jaxtyping_disable", True)


def _call(module, words):
    """Call the `main` of a module as the command line would; return the exit code."""
    sys.argv = [module, *words]
    try:
        # a package is called by the module of this name in it
        import_module("longarena.__main__" if module == "longarena" else module).main()
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code):
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
