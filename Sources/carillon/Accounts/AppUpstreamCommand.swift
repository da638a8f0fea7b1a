import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPI
import HTTPAPIClient
import Management
import Notifications
import Service

struct AppUpstreamCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upstream", abstract: "Where an app's notifications are forwarded to.",
        discussion: """
            An app's notifications are delivered here, or forwarded to another service of the same API: Apple's, or another \
            Carillon. The environments are set separately.
            """,
        subcommands: [Set.self, Show.self, Remove.self])

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forward an app's notifications.",
            discussion: """
                The credentials are a signing key, a certificate, or --passthrough: then the client's own provider token goes \
                on as it came. Without any of them, an upstream that is set already keeps the credentials that it has. The \
                key and the certificate are kept encrypted.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var place: AppInEnvironment

        @Option(help: "https://host:port; Apple's service if it is not given.")
        var url: String?

        @Option(help: "A file with the authority's certificates in PEM; the system's if it is not given.")
        var ca: String?

        @Option(name: .customLong("key-file"), help: "The signing key, a .p8 file.")
        var keyFile: String?

        @Option(name: .customLong("key-id"), help: "The signing key's ID.")
        var keyID: String?

        @Option(name: .customLong("team-id"), help: "The team's ID.")
        var teamID: String?

        @Option(help: "A provider certificate with its key, PEM.")
        var certificate: String?

        @Flag(help: "Pass on the client's provider token. Its key has to be known here.")
        var passthrough = false

        @Option(help: "An HTTP proxy that takes CONNECT, http://host:port; HTTPS_PROXY of the service without it.")
        var proxy: String?

        @Option(help: "How long to keep what cannot be forwarded, such as PT1H; nothing is kept without it.")
        var hold: String?

        @Flag(help: "Keep notifications for a release from the console, and forward none. Development only.")
        var capture = false

        @Flag(
            help: "Also forward what is refused here for its headers or payload, and report where the answers differ.")
        var compare = false

        func validate() throws {
            let kinds = [keyFile != nil || keyID != nil || teamID != nil, certificate != nil, passthrough].count { $0 }
            guard kinds <= 1 else { throw ValidationError("Name a signing key, a --certificate or --passthrough.") }
            let parts = [keyFile, keyID, teamID].count { $0 != nil }
            guard parts == 0 || parts == 3 else {
                throw ValidationError("--key-file, --key-id and --team-id go together.")
            }
        }

        func run() async throws {
            var document = ManagementMessages.NewUpstream(
                url: url, authority: try ca.map { try text(of: $0, "authority") }, credentials: try credentials())
            document.proxy = proxy
            document.hold = hold
            document.capture = capture
            document.compare = compare
            let set: ManagementMessages.Upstream = try await common.management().ask(
                .PUT, place.path(of: "upstreams"), document)
            common.output.print(set, set.line)
        }

        private func credentials() throws -> ManagementMessages.NewCredentials? {
            if passthrough { return .init(kind: "passthrough") }
            if let keyFile {
                return .init(
                    kind: "key", teamID: teamID, keyID: keyID, privateKey: try text(of: keyFile, "signing key"))
            }
            guard let certificate else { return nil }
            // The file has both, and each reader takes its own.
            let text = try text(of: certificate, "certificate")
            return .init(kind: "certificate", chain: text, privateKey: text)
        }

        private func text(of file: String, _ meaning: String) throws -> String {
            try InputFile.text(DataFolder(file).path, meaning)
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show where an app's notifications are forwarded to.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var place: AppInEnvironment

        func run() async throws {
            let upstream: ManagementMessages.Upstream = try await common.management().ask(
                .GET, place.path(of: "upstreams"))
            common.output.print(upstream, upstream.line)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Deliver an app's notifications here again.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var place: AppInEnvironment

        func run() async throws {
            let removed: ManagementMessages.Upstream = try await common.management().ask(
                .DELETE, place.path(of: "upstreams"))
            common.output.print(
                removed, "\(removed.bundleID) is delivered here again in the \(removed.environment) environment.")
        }
    }
}

extension ManagementMessages.Upstream {
    /// The line that a person reads.
    var line: String {
        var parts = ["\(bundleID)  \(environment)  \(url)"]
        let key = [credentials.teamID.map { "team \($0)" }, credentials.keyID.map { "key \($0)" }].compactMap(\.self)
        parts.append(([credentials.kind] + key).joined(separator: " "))
        if authority != nil { parts.append("own authority") }
        if let proxy { parts.append("proxy \(proxy)") }
        if hold != "PT0S" { parts.append("hold \(hold)") }
        if capture { parts.append("capture") }
        if compare { parts.append("compare") }
        if let refused { parts.append(refused.line) }
        return parts.joined(separator: "  ")
    }
}

extension ManagementMessages.UpstreamRefusal {
    /// What a person reads.
    var line: String {
        let date = Date(timeIntervalSince1970: Double(since) / 1000).formatted(.iso8601)
        return "refused: \(reason) since \(date), the gateway's own key or certificate"
    }
}
