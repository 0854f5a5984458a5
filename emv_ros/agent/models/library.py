"""litellm, imported so that it looks nothing up, tells nothing of prompts and uses our own wire.

Importing it takes seconds, so it is done at the first call. Not here: what is asked of it.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import Any
import warnings

# Loggers that tell whole prompts where everything is logged; $LITELLM_LOG lets them.
TALKATIVE = ('LiteLLM', 'openai', 'httpx', 'httpcore')

_lock = threading.Lock()


def loaded() -> Any:
    """Return the module litellm."""
    with _lock:
        os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'  # else a price list online
        os.environ.setdefault('LITELLM_MODE', 'PRODUCTION')  # else a .env that lies about
        if 'LITELLM_LOG' not in os.environ:
            os.environ['LITELLM_LOG'] = 'ERROR'
            for name in TALKATIVE:
                logging.getLogger(name).setLevel(logging.WARNING)
        import litellm

        from emv_ros.agent.models import wire
        litellm.telemetry = False
        litellm.suppress_debug_info = True
        if litellm.client_session is None:
            litellm.client_session = wire.client()
            # They quote the reply, on stderr.
            warnings.filterwarnings('ignore', 'Pydantic serializer warnings')
        return litellm
