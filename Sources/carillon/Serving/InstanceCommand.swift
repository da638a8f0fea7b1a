import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import Service

/// An instance's own service, for products that have Apple's host names as constants (docs/instance.md).
struct InstanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "instance",
        abstract: "Run the service of a self-hosted instance, which forwards to a publisher's gateway.",
        discussion: """
            For products that have Apple's host names as constants: it listens on Apple's ports, under Apple's names, for the \
            grant's key, and forwards what it gets with this key. It has all options of serve; only --ports is apple if you \
            do not name another.
            """)

    @Option(
        help: ArgumentHelp(
            "The gateway's provider API in production, https://host:port; or ENVIRONMENT=URL. Repeatable.",
            valueName: "url"))
    var gateway: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file with the answer that made the grant: of carillon grant create --json, or of the request to make it.",
            valueName: "file"))
    var grant: String

    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp(
            "The file with the grant's private key. If it is not given, it is that which the answer names, or "
                + "AuthKey_<key ID>.p8 beside it.", valueName: "file"))
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with the authority that the gateway's certificate is verified with; those that the system trusts if it is "
                + "not given.", valueName: "file"))
    var ca: String?

    @OptionGroup var serve: ServeCommand

    func validate() throws {
        guard !gateway.isEmpty else { throw ValidationError("Name the gateway with --gateway https://host:port.") }
        _ = try gateways()
    }

    func run() async throws {
        let instance = try instance()
        try await serve.run { settings in
            settings.ports = .apple
            settings.instance = instance
        }
    }

    private func gateways() throws -> [Notifications.Environment: String] {
        var urls: [Notifications.Environment: String] = [:]
        for text in gateway {
            let parts = text.split(separator: "=", maxSplits: 1).map { String($0) }
            let environment = Notifications.Environment(rawValue: parts.first ?? "")
            let url = environment == nil ? text : parts.dropFirst().first ?? ""
            guard url.hasPrefix("https://"),
                urls.updateValue(url, forKey: environment ?? .production) == nil
            else {
                throw ValidationError(
                    "--gateway takes https://host:port, or an environment and a URL, each once: \(text).")
            }
        }
        return urls
    }

    private func instance() throws -> InstanceSettings {
        let made = try GrantFile(path: grant)
        return InstanceSettings(
            teamID: made.teamID, keyID: made.keyID, bundleID: made.bundleID,
            privateKey: try made.privateKey(in: keyFile),
            gateways: try gateways(), authority: try ca.map { try text(of: $0, "authority") })
    }

    private func text(of path: String, _ meaning: String) throws -> String {
        try InputFile.text(path, meaning)
    }
}
