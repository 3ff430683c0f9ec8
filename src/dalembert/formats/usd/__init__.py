"""USD Physics."""

from dalembert.formats.usd.reader import read_usd as read_usd
