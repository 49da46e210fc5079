"""The one exception that users meet."""


class BenchError(Exception):
    """Something that the user can mend: bad data, a bad option, an absent file.

    The message is one line that names the file or option, what was found, what was expected and what to do.
    Command-line entry points print it without a trace and exit non-zero.
    """
