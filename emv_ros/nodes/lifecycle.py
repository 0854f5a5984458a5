"""The base of all nodes: a lifecycle node that can also run alone.

`__init__` declares parameters and does no I/O; configure opens, activate subscribes and serves,
deactivate drains, cleanup closes. A subclass fills in `open`, `start`, `stop` and `close`;
whatever one of them raises fails that transition, is logged, and leaves the node in its old state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleState, Node, TransitionCallbackReturn

from emv_ros.errors import StoreFullError
from emv_ros.nodes.faults import Faults
from emv_ros.nodes.parameters import declare, declare_settings


class MemoryNode(Node):
    """A node of the memory with its settings. `areas` names those that it declares."""

    areas: tuple[str, ...] = ('memory',)
    pace_s = 0.0  # its executor rests so long after each callback

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.faults = Faults(self.get_logger())
        self.settings = declare_settings(self, self.areas)
        self.autostart: bool = declare(
            self, 'autostart', True,
            'configure and activate at start; False: wait for the transitions')
        self.is_active = False
        self._is_open = False
        self._failure: Exception | None = None  # of the latest transition

    # To be filled in

    def open(self) -> None:
        """Open what the node needs (database, models); nothing is received yet."""

    def start(self) -> None:
        """Subscribe, serve, set timers."""

    def stop(self) -> None:
        """End what `start` began, and finish what is under way."""

    def close(self) -> None:
        """Close what `open` opened."""

    # The transitions

    def bring_up(self) -> bool:
        """Configure and activate where `autostart` says so; return whether that went well.

        It may be tried again, where it `waits_for_room`.
        """
        if not self.autostart:
            return True
        done = TransitionCallbackReturn.SUCCESS
        return ((self._is_open or self.trigger_configure() == done)
                and self.trigger_activate() == done)

    @property
    def waits_for_room(self) -> bool:
        """Whether the latest transition failed for want of room on the disk."""
        return isinstance(self._failure, StoreFullError)

    def bring_down(self) -> None:
        """Stop and close, from whatever state."""
        self._attempt('deactivate', self._stop)
        self._attempt('cleanup', self._close)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open."""
        return self._step('configure', self._open)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start."""
        done = self._step('activate', self._start)
        if done != TransitionCallbackReturn.SUCCESS:
            failure = self._failure
            self._attempt('activate', self.stop)  # what it began before it failed
            self._failure = failure
        return done

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop."""
        return self._step('deactivate', self._stop)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close."""
        return self._step('cleanup', self._close)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop and close."""
        self.bring_down()
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop and close, so that the node can be configured anew."""
        self.bring_down()
        return TransitionCallbackReturn.SUCCESS

    def _open(self) -> None:
        self.open()
        self._is_open = True

    def _start(self) -> None:
        self.start()
        self.is_active = True

    def _stop(self) -> None:
        if self.is_active:
            self.is_active = False
            self.stop()

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.close()

    def _step(self, name: str, action: Callable[[], None]) -> TransitionCallbackReturn:
        return (TransitionCallbackReturn.SUCCESS if self._attempt(name, action)
                else TransitionCallbackReturn.FAILURE)

    def _attempt(self, name: str, action: Callable[[], None]) -> bool:
        try:
            action()
        except Exception as error:  # a transition fails; the process goes on
            self._failure = error
            self.faults.add(name, error)
            return False
        self._failure = None
        self.faults.mended(name)
        return True
