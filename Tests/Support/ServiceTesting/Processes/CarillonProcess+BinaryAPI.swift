import CommonTesting

extension CarillonProcess {
    /// Makes a provider certificate for the development team's app with the command.
    func makeProviderCertificate(in folder: String, environment: String = "universal") async throws -> String {
        let path = folder + "/provider-\(environment).pem"
        let made = try await carillon(
            "certificate", "create", "--team", try developmentProvider.teamID, "--bundle-id", "com.example.app",
            "--environment", environment, "--out", path)
        guard made.status == 0 else { throw UnexpectedOutput(description: made.errors) }
        return path
    }

    /// Sends over the binary API with the command.
    func sendBinary(
        _ token: String,
        _ certificate: String,
        _ arguments: [String] = ["--alert", "Hello"],
    ) async throws -> ChildProcess.Finished {
        try await BuiltCommand.run(
            [
                "send", "--binary", "--token", token, "--topic", "com.example.app", "--certificate", certificate,
                "--data", data, "--json",
            ] + arguments)
    }
}
