import Delivery
import Foundation
import Notifications
import SQLiteStore
import Service
import Trust

/// Fills a data folder with devices, through the store and the authority that the service itself uses. To register
/// 100,000 devices over the network would take longer than the benchmark. The devices belong to the production
/// environment, which is the one that has to be fast.
///
///     Seed FOLDER OUT DEVICES APPS [REQUEST [MAILBOXES]]
///
/// Writes `OUT/paths.txt`, with a request path for each registration, device by device. If REQUEST is given, a
/// certificate signing request (PEM), it also writes `OUT/devices.pem`, with a certificate chain for each device. All
/// devices have the same key, which no real fleet would have, but the server's work is the same. If MAILBOXES is given,
/// this number of registrations have a stored notification of 200 bytes, and only the first devices get a certificate.
@main
struct Seed {
    /// The number of registrations that wait for the store at the same time. The store refuses more than some thousands.
    private static let batch = 2000
    /// Only this many devices get a certificate, because making one for each of a million devices would take minutes,
    /// and only a few of them connect.
    private static let certifiedWithMailboxes = 200

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 4, let devices = Int(arguments[3]), let apps = Int(arguments[4]) else {
            throw SeedError(description: "usage: Seed FOLDER OUT DEVICES APPS [REQUEST [MAILBOXES]]")
        }
        let (folder, out) = (arguments[1], arguments[2])
        let store = try await SQLiteStore.open(folder: folder)
        let secrets = try await SharedSecrets.load(from: store.secrets, now: .now())
        let seed = Seed(store: store, secrets: secrets)
        let ids = (0..<devices).map { _ in DeviceID(rawValue: .random(in: 0...UInt64.max)) }
        let destinations = try await seed.register(ids, apps: apps, writing: out + "/paths.txt")
        let mailboxes = arguments.count > 5 ? Int(arguments[6]) : nil
        if let mailboxes { try await seed.fill(destinations.prefix(mailboxes)) }
        if arguments.count > 4 {
            let request = try Data(contentsOf: URL(filePath: arguments[5]))
            let certified = mailboxes == nil ? ids : Array(ids.prefix(certifiedWithMailboxes))
            try seed.certify(certified, request: Array(request), writing: out + "/devices.pem")
        }
        await store.close()
    }

    private let store: SQLiteStore
    private let secrets: SharedSecrets

    /// - Returns: all registrations, device by device.
    private func register(_ devices: [DeviceID], apps: Int, writing path: String) async throws -> [Destination] {
        let keys = secrets.tokenKeys.keys.current
        let known = store.current.apps.values.map(\.id).sorted { $0.rawValue < $1.rawValue }.prefix(apps)
        guard known.count == apps else { throw SeedError(description: "There are only \(known.count) apps.") }
        let destinations = devices.flatMap { device in
            known.map { Destination(environment: .production, device: device, app: $0) }
        }
        for start in stride(from: 0, to: destinations.count, by: Self.batch) {
            try await withThrowingDiscardingTaskGroup { group in
                for destination in destinations[start..<min(start + Self.batch, destinations.count)] {
                    group.addTask {
                        _ = try await store.register(destination, tokenKeyID: keys.current.rawValue, at: .now())
                    }
                }
            }
        }
        var text = ""
        for destination in destinations {
            let contents = DeviceTokenContents(device: destination.device, app: destination.app, generation: 1)
            text += "/3/device/\(try keys.seal(contents, environment: .production))\n"
        }
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return destinations
    }

    /// Stores a notification for each of the destinations.
    private func fill(_ destinations: ArraySlice<Destination>) async throws {
        let body = #"{"aps":{"alert":"\#(String(repeating: "x", count: 177))"}}"#
        let payload = try Payload(Array(body.utf8))
        let expires = Timestamp.now().advanced(by: .seconds(86_400))
        var random = SystemRandomNumberGenerator()
        var start = destinations.startIndex
        while start < destinations.endIndex {
            let end = min(start + Self.batch, destinations.endIndex)
            let entries = destinations[start..<end].map { destination in
                let notification = Notification(
                    id: NotificationID(high: random.next(), low: random.next()), topic: "com.example.app",
                    payload: payload)
                return MailboxEntry(destination: destination, notification: notification, expires: expires)
            }
            for result in await store.store(entries) { _ = try result.get() }
            start = end
        }
    }

    private func certify(_ devices: [DeviceID], request: [UInt8], writing path: String) throws {
        var random = SystemRandomNumberGenerator()
        let now = Date().timeIntervalSince1970
        var text = ""
        for device in devices {
            text += try secrets.authority.issueDeviceCertificate(
                request: request, device: device, environment: .production, now: now, using: &random
            ).chainPEM
        }
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }
}

struct SeedError: Error, CustomStringConvertible {
    let description: String
}
