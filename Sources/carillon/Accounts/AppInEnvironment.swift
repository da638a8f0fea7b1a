import ArgumentParser
import Notifications

/// The app and the environment of a command about what is set for both together.
struct AppInEnvironment: ParsableArguments {
    @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
    var bundleID: String

    @Option(help: "The environment: development or production.")
    var environment: Environment

    /// The path of the management API.
    /// - Parameter part: what is set: `upstreams` or `web-push`.
    func path(of part: String) -> String { "/v1/apps/\(bundleID.percentEncoded)/\(part)/\(environment.rawValue)" }
}
