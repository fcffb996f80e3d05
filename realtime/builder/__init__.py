"""Compiles networks for the machine they run on: prepare (fp16, int8), build, compare with the original, and write down what was chosen.

`run.build` is the way in. Whatever touches a vendor's library happens in a child process with a time limit (`child`).
"""
