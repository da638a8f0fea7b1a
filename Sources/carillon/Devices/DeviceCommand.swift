import AgentCommands
import APNSDevice
import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Management
import Notifications
import Service

struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Devices, and the apps on them.",
        subcommands: [
            Activate.self, Invite.self, InvitationCommand.self, Register.self, Unregister.self,
            DeviceSubscribeCommand.self,
            DeviceListenCommand.self,
            DeviceFleetCommand.self, DevicePowerCommand.self, DeviceResetCommand.self, DeviceRevokeCommand.self,
            DeviceListCommand.self, DeviceBehaveCommand.self, DeviceAgentCommand.self,
        ],
    )

    struct Activate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a device identity: a key and a certificate in one file.")

        @OptionGroup var common: CommonOptions

        @Option(help: "The file for the identity; it must not exist yet.")
        var out: String

        @Option(help: "development or production.")
        var environment = Environment.development

        @Option(help: "A one-time activation code, if the service needs one.")
        var code: String?

        func run() async throws {
            let path = DataFolder(out).path
            let courier = try common.runningService().courier(environment)
            // The answer may be lost after the code was used up. With the same code and key it is given again, so the key stays also
            // after a refusal: the code may have been mistyped.
            let keyFile = path + ".key"
            let identity = try await NewFile(path).fill {
                let key = try code.map { _ in try ActivationKey(file: keyFile) }
                let identity = try await DeviceIdentity.activate(
                    at: courier, environment: environment, code: code, key: key)
                return (Array(identity.text.utf8), identity)
            }
            if code != nil { ActivationKey.remove(keyFile) }
            common.output.print(
                ["deviceID": identity.deviceID, "path": path], "Made the device \(identity.deviceID): \(path)")
        }
    }

    struct Invite: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a one-time activation code, valid for a day; with --count many, one on each line.")

        /// More codes than a fleet that is set up in a day needs.
        private static let maximumCount = 10_000

        @OptionGroup var common: CommonOptions

        @Option(help: "How many codes to make, each for one device.")
        var count = 1

        @Option(help: "development or production.")
        var environment = Environment.development

        func validate() throws {
            guard (1...Self.maximumCount).contains(count) else {
                throw ValidationError("--count takes 1 to \(Self.maximumCount).")
            }
        }

        func run() async throws {
            let management = try common.management()
            for _ in 0..<count {
                let invitation: ManagementMessages.InvitationMade = try await management.ask(
                    .POST, "/v1/invitations", ManagementMessages.NewInvitation(environment: environment.rawValue))
                common.output.print(invitation, invitation.code)
            }
        }
    }

    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register an app on a device; prints its device token.",
            discussion: """
                With --service it prints the device token of one of the app's services instead, which is only for that \
                service's topic.
                """)

        @OptionGroup var app: AppOnDevice

        @Option(
            help: "A service of the app: \(choices(PushService.withTokens)).",
            transform: { try choice($0, among: PushService.withTokens) })
        var service: PushService?

        func run() async throws {
            let token = try await app.ask { [service] device, bundleID in
                guard let service else { return try await device.register(bundleID) }
                return try await device.register(bundleID, for: service)
            }
            app.common.output.print(["token": token], token)
        }
    }

    struct Unregister: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an app from a device; its device token is then no longer active.")

        @OptionGroup var app: AppOnDevice

        func run() async throws {
            guard let token = try await app.ask({ device, bundleID in try await device.unregister(bundleID) }) else {
                throw CommandError("\(app.bundleID) was never registered on this device.")
            }
            app.common.output.print(["token": token], "Removed \(app.bundleID) from the device.")
        }
    }
}
