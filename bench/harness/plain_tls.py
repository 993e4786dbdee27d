"""A file over one TLS 1.3 stream between two machines of a lab, into a file there: what a copy is compared with.

    plain_tls.py give FILE CERTIFICATE PORT     sends it to each client
    plain_tls.py take FILE HOST PORT            fetches it
"""
import socket
import ssl
import subprocess
import sys

PIECE = 1 << 20


def certificate(folder):
    """A file with a key of the kind that nodes have, and its certificate."""
    path = folder / "plain-tls.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=bench", "-keyout", path, "-out", f"{path}.crt"],
                   check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + open(f"{path}.crt", "rb").read())
    return path


def give(name, pem, port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(pem)
    with socket.create_server(("0.0.0.0", int(port))) as server:
        while True:
            client, _ = server.accept()
            with context.wrap_socket(client, server_side=True) as stream, open(name, "rb", buffering=0) as file:
                while piece := file.read(PIECE):
                    stream.sendall(piece)


def take(name, host, port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    space = memoryview(bytearray(PIECE))
    with socket.create_connection((host, int(port))) as plain, context.wrap_socket(plain) as stream, open(name, "wb", buffering=0) as file:
        while count := stream.recv_into(space):
            file.write(space[:count])


if __name__ == "__main__":
    {"give": give, "take": take}[sys.argv[1]](*sys.argv[2:])
