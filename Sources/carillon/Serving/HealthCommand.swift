import ArgumentParser
import HTTPAPIClient
import Management

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Say whether the service is ready: exit status 0 if it is.",
        discussion: "For containers and scripts.",
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let status: ManagementMessages.Status = try await common.management().ask(.GET, "/ready")
        common.output.print(status, "The service is \(status.status).")
    }
}
