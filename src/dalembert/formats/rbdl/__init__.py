"""RBDL's Lua models."""

from dalembert.formats.rbdl.reader import read_rbdl as read_rbdl
