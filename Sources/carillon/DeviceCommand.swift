import APNSDevice
import ArgumentParser
import Foundation
import NIOPosix
import Notifications
import Service

struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Devices, and the apps on them.",
        subcommands: [
            Activate.self, Invite.self, Register.self, Unregister.self, DeviceListenCommand.self,
            DeviceResetCommand.self,
            DeviceRevokeCommand.self,
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

        @Option(help: "A one-time activation code, where the service asks for one.")
        var code: String?

        func run() async throws {
            let path = DataFolder(out).path
            guard !FileManager.default.fileExists(atPath: path) else {
                throw CommandError("\(path) is there already; an identity is not overwritten.")
            }
            let courier = try common.runningService().courier(environment)
            let identity = try await DeviceClient.activate(
                at: courier, environment: environment, code: code, group: MultiThreadedEventLoopGroup.singleton)
            try DataFolder.write(identity.text, to: path)
            Output(isJSON: common.json).print(
                Made(deviceID: identity.deviceID, path: path), "Made the device \(identity.deviceID): \(path)")
        }

        private struct Made: Encodable {
            let deviceID: String
            let path: String
        }
    }

    struct Invite: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a one-time activation code, good for a day.")

        @OptionGroup var common: CommonOptions

        @Option(help: "development or production.")
        var environment = Environment.development

        func run() async throws {
            let invitation: AdministrationMessages.Invitation = try await common.administration().ask(
                "POST", "/invitations", AdministrationMessages.NewInvitation(environment: environment.rawValue))
            Output(isJSON: common.json).print(invitation, invitation.code)
        }
    }

    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register an app on a device; prints its device token.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var device: DeviceOptions

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        func run() async throws {
            let client = try await device.connect(common)
            let token = try await client.register(bundleID)
            await client.close()
            Output(isJSON: common.json).print(Registered(token: token), token)
        }
    }

    struct Unregister: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an app from a device; its device token is then no longer active.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var device: DeviceOptions

        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        func run() async throws {
            let client = try await device.connect(common)
            let token = try await client.unregister(bundleID)
            await client.close()
            guard let token else { throw CommandError("\(bundleID) was never registered on this device.") }
            Output(isJSON: common.json).print(Registered(token: token), "Removed \(bundleID) from the device.")
        }
    }

    private struct Registered: Encodable {
        let token: String
    }
}

/// Which device it is about.
struct DeviceOptions: ParsableArguments {
    @Option(help: "The device's identity, a file that carillon device activate made.")
    var identity: String

    func connect(_ common: CommonOptions) async throws -> DeviceClient {
        let file = try DeviceIdentityFile(path: identity)
        let courier = try common.runningService().courier(file.environment)
        return try await DeviceClient(to: courier, as: file, group: MultiThreadedEventLoopGroup.singleton)
    }
}
