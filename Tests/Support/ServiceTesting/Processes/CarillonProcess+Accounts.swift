import CommonTesting

extension CarillonProcess {
    /// Makes a team with an app and a key, with the command.
    /// - Parameters:
    ///   - folder: where the key's file is written.
    ///   - environment: the key's only environment; nil for both.
    func createProvider(
        keysIn folder: String,
        bundleID: String,
        environment: String? = nil,
    ) async throws -> Provider {
        let team = try await carillon("team", "create", "--name", "Team")
        let teamID = try team.object["teamID"].flatMap(\.text).orThrow(team.errors)
        try await createApp(bundleID, of: teamID)
        return try await createKey(of: teamID, in: folder, environment: environment)
    }

    func createApp(_ bundleID: String, of teamID: String) async throws {
        let app = try await carillon("app", "create", "--team", teamID, "--bundle-id", bundleID)
        guard app.status == 0 else { throw UnexpectedOutput(description: app.errors) }
    }

    func createKey(
        of teamID: String,
        in folder: String,
        environment: String? = nil,
        bundleID: String? = nil,
    ) async throws -> Provider {
        var arguments = ["key", "create", "--data", data, "--json", "--team", teamID, "--out", folder]
        if let environment { arguments += ["--environment", environment] }
        if let bundleID { arguments += ["--bundle-id", bundleID] }
        let key = try await BuiltCommand.run(arguments)
        let object = try key.object
        guard let keyID = object["keyID"]?.text, let path = object["path"]?.text else {
            throw UnexpectedOutput(description: key.output)
        }
        return try Provider(teamID: teamID, keyID: keyID, keyFile: path)
    }
}
