import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Service

/// The options of every subcommand of `provider`.
struct ProviderOptions: ParsableArguments {
    @Option(help: "The folder that holds everything the provider server keeps (or CARILLON_PROVIDER_DATA).")
    var data: String?

    @Flag(help: "Print one JSON object per line on standard output, and nothing else.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "The HTTP proxy, http://host:port: of serve the one through which the server reaches push services and hooks (or "
                + "CARILLON_PROVIDER_PROXY), of the others the one through which the server is reached; HTTPS_PROXY and "
                + "NO_PROXY by default.", valueName: "url"))
    var proxy: String?

    /// The data folder if neither an option nor the environment names one.
    private static let defaultFolder = "./carillon-provider-data"

    var folder: String {
        DataFolder(data ?? ProcessInfo.processInfo.environment["CARILLON_PROVIDER_DATA"] ?? Self.defaultFolder).path
    }

    /// Returns a client of the server with this folder, or of the server that the environment names.
    func client() throws -> APIClient { try APIClient.providerServer(folder: folder, proxy: proxy) }

    var output: Output { Output(isJSON: json) }
}
