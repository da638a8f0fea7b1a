import CommonTesting

/// Runs a command with a terminal as standard error and a pipe as standard output.
enum PseudoTerminal {
    /// A program that runs a command on a terminal. What the command writes to the terminal goes to the program's
    /// standard error.
    private static let program = """
        import os, pty, subprocess, sys
        ours, theirs = pty.openpty()
        process = subprocess.Popen(sys.argv[1:], stderr=theirs)
        os.close(theirs)
        while True:
            try:
                written = os.read(ours, 65536)
            except OSError:  # What Linux says when the last who had it open is gone.
                break
            if not written:
                break
            os.write(2, written)
        sys.exit(process.wait())
        """

    static func run(_ arguments: [String], input: [UInt8] = []) async throws -> ChildProcess.Finished {
        try await ChildProcess.run("python3", ["-c", program, BuiltCommand.path] + arguments, input: input)
    }
}
