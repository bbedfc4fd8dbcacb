import socket
import struct

from planner.core.gunicorn_conf import SILENCE_S, limit_silence


def test_accepted_connections_do_not_wait_for_a_silent_client_for_ever():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        limit_silence(listener)
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                seconds, _ = struct.unpack(
                    "@ll", accepted.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("@ll"))
                )
                assert seconds == SILENCE_S
