"""What a program writes to a pseudo-terminal."""
import os
import pty
import subprocess


def run(arguments, environment, before=None, after_piece=None):
    """Exit code and all bytes. before(terminal) prepares it; after_piece(terminal, piece) answers what is to be added."""
    ours, its = pty.openpty()
    if before:
        before(its)
    child = subprocess.Popen(arguments, stdin=its, stdout=its, stderr=its, env=environment, start_new_session=True)
    os.close(its)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
        if after_piece:
            text += after_piece(ours, piece)
    os.close(ours)
    return child.wait(), text
