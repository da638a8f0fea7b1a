import APNSProvider
import ArgumentParser
import CommandSupport
import Service

/// The options for a provider's credentials.
struct CredentialOptions: ParsableArguments {
    @Option(name: .customLong("key-file"), help: "The signing key, a .p8 file; the development team's by default.")
    var keyFile: String?

    @Option(name: .customLong("key-id"), help: "The signing key's ID.")
    var keyID: String?

    @Option(name: .customLong("team-id"), help: "The team's ID.")
    var teamID: String?

    @Option(help: "A provider certificate with its key, PEM, instead of a signing key.")
    var certificate: String?

    /// The credentials that the options give. If they give none, those of the development team.
    func credentials(_ common: CommonOptions) throws -> ProviderCredentials {
        switch (keyFile, keyID, teamID, certificate) {
        case (let file?, let key?, let team?, nil):
            return try ProviderCredentials(keyFile: file, keyID: key, teamID: team)
        case (nil, nil, nil, let file?):
            return try ProviderCredentials(certificateFile: file)
        case (nil, nil, nil, nil):
            guard let key = try common.runningService().description.key else {
                throw CommandError("This service has no development key; name --key-file, --key-id and --team-id.")
            }
            return try ProviderCredentials(keyFile: key.path, keyID: key.keyID, teamID: key.teamID)
        case (_, _, _, nil):
            throw ValidationError("--key-file, --key-id and --team-id go together.")
        default:
            throw ValidationError("Name either a signing key or a --certificate.")
        }
    }
}
