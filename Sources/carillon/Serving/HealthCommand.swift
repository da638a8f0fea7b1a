import ArgumentParser
import CommandSupport
import HTTPAPI
import HTTPAPIClient

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Say whether the service is ready: exit status 0 if it is.",
        discussion: "For containers and scripts.",
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        // Do not wait for a service that is starting: it is not ready.
        let status: ServerStatus = try await common.management(isPatient: false).ask(.GET, "/ready")
        common.output.print(status, "The service is \(status.status).")
    }
}
