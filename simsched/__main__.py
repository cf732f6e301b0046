"""The program: ``simsched`` in a shell, and ``python -m simsched``."""

import signal
import sys


def main() -> int:
    """Run the command line with the words of this process; return the exit code.

    Importing the commands takes a while. Who asks the program to end before that, or when it is
    over, gets no traceback either.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from simsched.files.interruptions import Interruptions

    with Interruptions() as signals:
        try:
            from simsched.cli.app import answer

            return answer(sys.argv[1:], signals)
        except BaseException:
            if signals.heard is None:
                raise
            signals.end()
            return signals.exit_code


if __name__ == "__main__":
    sys.exit(main())
