"""The programs that the measurements use: where they are, and how our own are built."""

import os

from processes import run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "Benchmarks")


class Tools:
    def __init__(self, work):
        self.work = work
        self.bin = os.path.join(ROOT, ".build", "release")
        self.carillon = os.path.join(self.bin, "carillon")
        self.seed = os.path.join(self.bin, "Seed")

    def go_program(self, name):
        """Builds one of the Go programs, which use nothing but Go's own library."""
        program = os.path.join(self.work, name)
        if not os.path.exists(program):
            env = {**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off", "GOCACHE": f"{self.work}/go-cache"}
            run("go", "build", "-o", program, ".", cwd=os.path.join(FOLDER, name), env=env)
        return program

    def c_program(self, name, *options):
        """Compiles a C program or, under a name that ends in .so, a library."""
        program = os.path.join(self.work, name)
        if not os.path.exists(program):
            run("cc", "-O2", "-o", program, os.path.join(FOLDER, "bare", name.removesuffix(".so") + ".c"), *options)
        return program

    def server_identity(self, work):
        """Makes a key and a certificate for the other servers: P-256, as our service has."""
        key, certificate = f"{work}/server.key", f"{work}/server.pem"
        if not os.path.exists(certificate):
            run(
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
            )
        return key, certificate

    def device_request(self, folder):
        """Makes one key for all devices, and a request for their certificates."""
        request = f"{folder}/device.csr"
        run(
            "openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", f"{folder}/device.key", "-out", request, "-subj", "/CN=device",
        )
        return request
