"""Language models: pull weights, call a model within our limits, read its replies.

`client` is what the rest of the project calls; `embedded` runs the default model in this process;
`weights` brings its file; `replies` takes code and JSON from what a model wrote.
"""

from emv_ros.agent.models.client import ModelClient
from emv_ros.agent.models.responses import Reply

__all__ = ['ModelClient', 'Reply']
