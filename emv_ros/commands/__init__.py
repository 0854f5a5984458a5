"""The verbs of the command line, one small module each.

A module has `add_arguments(parser)` and `run(args, context) -> exit status`. It is imported when
its verb is used, and imports what is heavy only in `run`, so that `emv --help` stays quick.
"""
