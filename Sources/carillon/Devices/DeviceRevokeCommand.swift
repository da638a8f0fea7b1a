import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Management
import Notifications
import Service

struct DeviceRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a device at once, and end its connection and registrations. This cannot be undone.",
    )

    @OptionGroup var common: CommonOptions

    @Argument(help: "The device's ID, 16 hexadecimal digits.")
    var deviceID: String

    @Option(help: "The only environment to revoke it in; both if it is not given.")
    var environment: Environment?

    func run() async throws {
        let revoked: ManagementMessages.RevokedDevice = try await common.management().ask(
            .DELETE, "/v1/devices/\(deviceID)" + (environment.map { "?environment=\($0.rawValue)" } ?? ""))
        let ended =
            revoked.registrations == 0 ? "it had no registration" : "\(revoked.registrations) registrations ended"
        common.output.print(revoked, "Revoked the device \(revoked.deviceID): \(ended).")
    }
}
