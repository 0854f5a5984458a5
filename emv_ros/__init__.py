"""Episodic memory for robots.

Importing it imports nothing else: the core needs no ROS, and heavy parts load where they are used.
"""

from pkgutil import extend_path

__version__ = '0.1.0'

# The generated msg, srv and action modules lie where the package is installed,
# also when this file is imported from a checkout.
__path__ = extend_path(__path__, __name__)
