import Delivery
import Foundation
import Notifications
import SQLiteStore
import Service
import Trust

/// Fills a data folder with registered devices, through the store and the authority that the service itself uses:
/// registering 100,000 devices over the network would take longer than the benchmark.
///
///     Seed FOLDER OUT DEVICES APPS [REQUEST]
///
/// Writes `OUT/paths.txt`, a request path for each registration, device by device; with REQUEST, a certificate signing
/// request (PEM), also `OUT/devices.pem`, a certificate chain for each device. All of them have the same key, which a
/// real fleet never would: the server's work is the same.
@main
struct Seed {
    /// How many registrations wait for the store at once; it refuses more than some thousands.
    private static let batch = 2000

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 4, let devices = Int(arguments[3]), let apps = Int(arguments[4]) else {
            throw SeedError(description: "usage: Seed FOLDER OUT DEVICES APPS [REQUEST]")
        }
        let (folder, out) = (arguments[1], arguments[2])
        let store = try await SQLiteStore.open(folder: folder)
        let secrets = try await SharedSecrets.load(from: store.secrets, now: .now())
        let seed = Seed(store: store, secrets: secrets)
        let ids = (0..<devices).map { _ in DeviceID(rawValue: .random(in: 0...UInt64.max)) }
        try await seed.register(ids, apps: apps, writing: out + "/paths.txt")
        if arguments.count > 4 {
            let request = try Data(contentsOf: URL(filePath: arguments[5]))
            try seed.certify(ids, request: Array(request), writing: out + "/devices.pem")
        }
        await store.close()
    }

    private let store: SQLiteStore
    private let secrets: SharedSecrets

    private func register(_ devices: [DeviceID], apps: Int, writing path: String) async throws {
        let keys = secrets.tokenKeys.keys.current
        let known = store.current.apps.values.map(\.id).sorted { $0.rawValue < $1.rawValue }.prefix(apps)
        guard known.count == apps else { throw SeedError(description: "There are only \(known.count) apps.") }
        let destinations = devices.flatMap { device in
            known.map { Destination(environment: .development, device: device, app: $0) }
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
            text += "/3/device/\(try keys.seal(contents, environment: .development))\n"
        }
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private func certify(_ devices: [DeviceID], request: [UInt8], writing path: String) throws {
        var random = SystemRandomNumberGenerator()
        let now = Date().timeIntervalSince1970
        var text = ""
        for device in devices {
            text += try secrets.authority.issueDeviceCertificate(
                request: request, device: device, environment: .development, now: now, using: &random
            ).chainPEM
        }
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }
}

struct SeedError: Error, CustomStringConvertible {
    let description: String
}
