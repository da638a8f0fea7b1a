import APNSDevice
import Foundation
import HTTP2
import NIOCore
import NIOPosix
import Notifications
import Service

/// The service that runs on a data folder, as its commands reach it.
struct RunningService {
    let description: ServiceDescription
    private let folder: DataFolder

    init(_ folder: DataFolder) throws {
        self.folder = folder
        description = try ServiceDescription.read(folder)
    }

    /// Asks the administration for something.
    func administer<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ message: some Encodable,
    ) async throws -> Answer {
        let answer = try await administration(method, path, JSONEncoder().encode(message))
        return try JSONDecoder().decode(Answer.self, from: answer)
    }

    /// The same with bytes both ways.
    func administration(_ method: String, _ path: String, _ body: some Sequence<UInt8> & Sendable) async throws -> Data
    {
        let client: HTTP2Client
        do {
            client = try await HTTP2Client.connect(
                to: .unix(path: description.socket), group: MultiThreadedEventLoopGroup.singleton)
        } catch {
            throw CommandError(
                "No service answers on \(folder.path); start one with: carillon serve --data \(folder.path)")
        }
        let response = try await client.send(HTTP2Request(method, path, body: ByteBuffer(bytes: body)))
        await client.close()
        let data = Data(response.body.readableBytesView)
        guard response.status == 200 else {
            let failure = try? JSONDecoder().decode(AdministrationMessages.Failure.self, from: data)
            throw CommandError(failure?.error ?? "The service refused: status \(response.status).")
        }
        return data
    }

    /// Where providers send to.
    func provider(_ environment: Environment) throws -> HostAndPort {
        try HostAndPort(try addresses(environment).provider)
    }

    /// Where devices connect.
    func courier(_ environment: Environment) throws -> CourierAddress {
        let address = try HostAndPort(try addresses(environment).courier)
        return CourierAddress(
            host: address.host, port: address.port, authorityFile: description.ca,
            serverName: description.serverName(environment))
    }

    private func addresses(_ environment: Environment) throws -> ServiceDescription.Addresses {
        guard let addresses = description.addresses(environment) else {
            throw CommandError("The service on \(folder.path) does not serve the \(environment.rawValue) environment.")
        }
        return addresses
    }
}

/// An empty JSON dictionary.
struct Nothing: Codable {}
