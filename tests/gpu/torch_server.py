"""Many short processes that use PyTorch, without importing it each time: a server imports it, which takes seconds, and forks
a child for each job. CUDA starts in the child, so the children are processes of their own for the driver and for the drop-in.

A job is a dict: "limit", seconds; "environment", variables that the child sets first; "err", a file for what it writes; the rest
is the caller's. Job and reply are a line of JSON each. The server knows nothing of what is run.
"""
import ctypes
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback

SKIPPED = 77
PR_SET_PDEATHSIG = 1
START_S = 120  # importing PyTorch from a cold disk


class Skip(Exception):
    """A program that cannot run here, through no fault of what is tested."""


# ---- the server ----


def serve(run):
    """Answers the jobs on standard input until it ends. run(job): in a child, what was found, as a dict."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    parent = os.getppid()
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        process = os.fork()
        if process == 0:
            return in_child(job, run)
        print(json.dumps(reply_of(job, *wait_for(process, job["limit"], parent))), file=replies, flush=True)
    return 0


def in_child(job, run):
    """The child's exit code. It ends as programs do, so that the drop-in writes its capture."""
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ.update(job["environment"])
    err = os.open(job["err"], os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    os.dup2(err, 1)
    os.dup2(err, 2)
    try:
        found = run(job)
    except Skip as why:
        print(why, file=sys.stderr)
        return SKIPPED
    except Exception:  # whatever a program may raise
        traceback.print_exc()
        return 1
    pathlib.Path(job["err"] + ".json").write_text(json.dumps(found))
    return 0


def wait_for(process, limit, parent):
    """(exit code or -signal, whether it was late) of the child, which is killed after the limit or with the driver."""
    until = time.monotonic() + limit
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), False
        if time.monotonic() > until or os.getppid() != parent:
            for kill in (os.killpg, os.kill):  # its group is not there before its setsid
                try:
                    kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            os.waitpid(process, 0)
            return -signal.SIGKILL, True
        time.sleep(0.01)


def reply_of(job, code, late):
    """{"found": ...}, or {"why": ..., "skipped": whether that is no fault}."""
    result = pathlib.Path(job["err"] + ".json")
    if code == 0:
        found = json.loads(result.read_text())
        result.unlink()
        return {"found": found}
    if late:
        return {"why": f"not done in {job['limit']:.0f} s", "late": True}
    lines = [line for line in pathlib.Path(job["err"]).read_text(errors="replace").splitlines()
             if line.strip() and not line.startswith("gemmtune: ")]
    last = lines[-1][:300] if lines else "it said nothing"
    return {"why": last if code > 0 else f"ended by signal {-code}: {last}", "skipped": code == SKIPPED}


# ---- its user ----


class Server:
    """Starts at once and is waited for at the first job; one that has ended is started again."""

    def __init__(self, command, environment, err):
        self.command, self.environment, self.err = [str(word) for word in command], environment, str(err)
        self.start()

    def start(self):
        with open(self.err, "ab") as err:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True,
                                            env=self.environment, start_new_session=True)
        self.lines, self.ready = queue.Queue(), False
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines), daemon=True).start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)

    def next_line(self, limit):
        """None: the server has ended, or is late."""
        try:
            line = self.lines.get(timeout=max(0, limit))
        except queue.Empty:
            return None
        return json.loads(line) if line else None

    def ask(self, job, limit):
        """The reply to the job, within the limit and a few seconds. The start of the server counts."""
        begin = time.monotonic()
        if self.process.poll() is not None:
            self.stop()
            self.start()
        if not self.ready:
            self.ready = self.next_line(min(START_S, limit)) is not None
            if not self.ready:
                return self.broken("it did not start")
        left = max(1, limit - (time.monotonic() - begin))
        try:
            self.process.stdin.write(json.dumps(job | {"limit": left}) + "\n")
            self.process.stdin.flush()
        except OSError:
            return self.broken("it has ended")
        return self.next_line(left + 5) or self.broken("it has ended, or does not answer")

    def broken(self, what):
        self.stop()
        said = pathlib.Path(self.err).read_text(errors="replace").strip().splitlines()
        return {"why": f"the process that forks: {what}: {said[-1][:300] if said else 'it said nothing'}"}

    def stop(self):
        """Ends it. Its child, if there is one, ends with it."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except OSError:
                pass
