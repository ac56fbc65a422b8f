"""python3 -m gemmtune ARGUMENTS: the program tune takes the place of this process."""
import os
import sys

from ._files import program

os.execv(program(), ["tune", *sys.argv[1:]])
