import APNSDevice
import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import Service
import WebPushEncryption

struct DeviceSubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Subscribe an app on a device to Web Push; prints the endpoint and the keys for a server.",
        discussion: """
            The file for the keys has the private key as well: device listen --decrypt reads it. A subscription keeps its endpoint; with \
            the same name and another file it has other keys, and messages for the old ones cannot be decrypted with them.
            """)

    @OptionGroup var app: AppOnDevice

    @Option(help: "The app's name for the subscription, 1 to 100 bytes: an account, or a chat.")
    var name: String

    @Option(help: "The file for the keys, JSON; it must not exist yet.")
    var out: String

    @Option(help: ArgumentHelp("The only VAPID key that may send, 87 characters of base64url.", valueName: "key"))
    var vapid: String?

    @Flag(help: "Also take bodies that are not encrypted.")
    var plain = false

    func run() async throws {
        let path = DataFolder(out).path
        let file = try await NewFile(path).fill {
            let endpoint = try await app.ask { [name, vapid, plain] device, bundleID in
                // Registering again changes nothing.
                _ = try await device.register(bundleID)
                return try await device.subscribe(bundleID, toWebPushAs: name, vapid: vapid, isPlain: plain)
            }
            let file = SubscriptionKeyFile(endpoint: endpoint, SubscriptionKeys())
            let text = try JSONValue(encoding: file).text + "\n"
            return (Array(text.utf8), file)
        }
        app.common.output.print(
            Subscribed(endpoint: file.endpoint, p256dh: file.p256dh, auth: file.auth),
            """
            endpoint: \(file.endpoint)
            p256dh:   \(file.p256dh)
            auth:     \(file.auth)
            """)
    }

    private struct Subscribed: Encodable {
        let endpoint: String
        let p256dh: String
        let auth: String
    }
}
