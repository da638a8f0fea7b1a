import APNSDevice
import Foundation

// The code of the article "Getting started" (Sources/Libraries/APNSDevice/APNSDevice.docc). It is compiled here, and a test
// compares it with the article.

func identity(at courier: CourierAddress, keptIn path: String) async throws -> DeviceIdentity {
    if FileManager.default.fileExists(atPath: path) { return try DeviceIdentity(path: path) }
    let identity = try await DeviceIdentity.activate(at: courier, environment: .development)
    try identity.write(to: path)
    return identity
}

struct Kiosk: DeviceDelegate {
    let path: String

    func received(_ notification: ReceivedNotification) async {
        print(notification.topic, String(decoding: notification.payload, as: UTF8.self))
    }

    func renewed(_ identity: DeviceIdentity) async throws { try identity.write(to: path) }
}

func runKiosk(at courier: CourierAddress, folder: String) async throws {
    let path = folder + "/device.pem"
    var configuration = Device.Configuration()
    configuration.received = try FileIdentifiers(path: folder + "/received")
    let device = try Device(
        try await identity(at: courier, keptIn: path), at: courier, delegate: Kiosk(path: path),
        configuration: configuration)
    let token = try await device.register("com.example.kiosk")
    print("Give this to your provider:", token)
    try await device.run()
}

struct Messages: App {
    func registered(deviceToken: String) async {
        // Send the device token to your provider, each time.
    }

    func userPrefers(languages: [String]) async {
        // If your provider translates its notifications, tell it the first of these languages.
    }

    func woken(by notification: ReceivedNotification) async -> BackgroundResult { .newData }

    func receivedCall(_ push: ReceivedNotification) async {
        // A VoIP push: show the call.
    }

    func responded(to notification: ShownNotification, with response: NotificationResponse) async {
        print("The user chose", response)
    }
}

func runPhone(_ identity: DeviceIdentity, at courier: CourierAddress) async throws {
    let texts = Localizations(["de": try StringsTable(parsing: #""HELLO" = "Hallo, %@";"#)])
    let system = DeviceSystem(languages: ["de-CH"]) { event in
        if case .shown(let shown) = event { print(shown.content.title, shown.content.body) }
    }
    await system.install("com.example.messages", Messages(), localizations: texts)
    let device = try Device(identity, at: courier, delegate: system)
    await system.use(device)
    async let running: Void = device.run()
    let reply = NotificationAction(id: "reply", title: "Reply")
    await system.open(
        "com.example.messages", categories: [NotificationCategory(id: "MESSAGE", actions: [reply])])
    await system.enterBackground("com.example.messages")
    try await running
}

func tellProvider(_ deviceToken: String, folder: String) async throws {
    let keeper = try InstallationKeeper(server: "https://push.example.com", file: folder + "/installation.json") {
        "ck_…"  // the app's client key, or a token of your identity provider
    }
    try await keeper.update(AppInstallation(deviceToken: deviceToken, environment: .production, tags: ["news"]))
}
