"""A program at a terminal of its own: what it shows is read, what a person would type is typed.

Answers what programs ask of a terminal (where the cursor is, which colours it has); some wait for that.
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time

# What programs ask, and what a plain terminal says.
ANSWERS = [
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\]10;\?(\x07|\x1b\\)"), b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (re.compile(rb"\x1b\]11;\?(\x07|\x1b\\)"), b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
]
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_=>])")
ENTER = b"\r"
CTRL_C = b"\x03"


class Terminal:
    """Use it as a context manager: the program ends with the block."""

    def __init__(self, command, cwd, env):
        self._command, self._cwd, self._env = [str(word) for word in command], cwd, {**env, "TERM": "xterm-256color"}
        self._shown = bytearray()
        self._lock = threading.Lock()
        self._last = time.monotonic()

    def __enter__(self):
        self._mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        self._process = subprocess.Popen(self._command, cwd=self._cwd, env=self._env, stdin=theirs, stdout=theirs,
                                         stderr=theirs, start_new_session=True,
                                         preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._end(signal.SIGTERM)
        if self._process.poll() is None:
            self._end(signal.SIGKILL)
        self._thread.join(5)
        os.close(self._mine)

    def _end(self, number):
        # Its own session: nothing but this program and what it has started.
        os.killpg(self._process.pid, number)
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            pass

    def _read(self):
        while True:
            try:
                data = os.read(self._mine, 65536)
            except OSError:
                return
            if not data:
                return
            with self._lock:
                self._shown += data
                self._last = time.monotonic()
            for asked, answer in ANSWERS:
                for _ in asked.finditer(data):
                    os.write(self._mine, answer)

    def type(self, data):
        os.write(self._mine, data)

    def shown(self):
        """What it has shown so far, without what only moves or colours."""
        with self._lock:
            return ESCAPES.sub("", self._shown.decode(errors="replace"))

    def is_quiet(self, seconds):
        with self._lock:
            return bool(self._shown) and time.monotonic() - self._last >= seconds

    def has_ended(self, timeout):
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True
