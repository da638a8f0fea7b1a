import APNSProvider
import ArgumentParser
import Service

/// With what a provider signs.
struct CredentialOptions: ParsableArguments {
    @Option(name: .customLong("key-file"), help: "The signing key, a .p8 file; the development team's by default.")
    var keyFile: String?

    @Option(name: .customLong("key-id"), help: "The signing key's ID.")
    var keyID: String?

    @Option(name: .customLong("team-id"), help: "The team's ID.")
    var teamID: String?

    /// The given credentials, else those of the development team.
    func credentials(_ common: CommonOptions) throws -> ProviderCredentials {
        switch (keyFile, keyID, teamID) {
        case (let file?, let key?, let team?):
            return try ProviderCredentials(keyFile: file, keyID: key, teamID: team)
        case (nil, nil, nil):
            guard let key = try common.runningService().description.key else {
                throw CommandError("This service has no development key; name --key-file, --key-id and --team-id.")
            }
            return try ProviderCredentials(keyFile: key.path, keyID: key.keyID, teamID: key.teamID)
        default:
            throw ValidationError("--key-file, --key-id and --team-id go together.")
        }
    }
}
