import APNSDevice
import APNSProvider
import CommandSupport
import Foundation
import Notifications
import Service

/// A running service, with the addresses at which commands reach it.
struct RunningService {
    let description: ServiceDescription
    private let folder: DataFolder

    init(_ folder: DataFolder) throws {
        self.folder = folder
        description = try ServiceDescription.find(folder)
    }

    /// The address for providers.
    func provider(_ environment: Environment) throws -> HostAndPort {
        try HostAndPort(try addresses(environment).provider)
    }

    /// The address of the binary API or of the feedback service.
    func legacy(
        _ address: KeyPath<ServiceDescription.Addresses, String>,
        _ environment: Environment,
    ) throws -> APNSEnvironment {
        let server = try HostAndPort(try addresses(environment)[keyPath: address])
        return APNSEnvironment(
            host: server.host, port: server.port, authority: .file(description.ca),
            serverName: description.serverName(environment))
    }

    /// The address for devices.
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
