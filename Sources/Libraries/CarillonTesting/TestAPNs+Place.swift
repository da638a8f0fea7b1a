import Foundation
import Management
import Service

extension TestAPNs {
    /// Where a service is, and what to trust.
    struct Place: Sendable {
        let provider: ListenAddress
        let binaryPort: Int
        let authorityPEM: String
        let management: ManagementCalls
    }
}

extension TestAPNs.Place {
    /// The service that `CARILLON_MANAGEMENT_URL` and `CARILLON_MANAGEMENT_KEY` name; nil if they name none.
    init?(environment: [String: String]) async throws(TestAPNsError) {
        guard let url = environment["CARILLON_MANAGEMENT_URL"], !url.isEmpty else { return nil }
        // The secrets of a CI end with a line's end now and then.
        let key = environment["CARILLON_MANAGEMENT_KEY"]?.trimmingCharacters(in: .whitespacesAndNewlines)
        try await self.init(url: url, key: key ?? "", environment: environment)
    }

    /// Asks a service that runs already where it is.
    /// - Parameter environment: may name the address of a container's ports, as `CARILLON_PROVIDER_ADDRESS` and
    ///   `CARILLON_BINARY_ADDRESS`.
    init(url: String, key: String, environment: [String: String]) async throws(TestAPNsError) {
        struct Made: Decodable {
            struct Service: Decodable {
                struct Addresses: Decodable {
                    let provider: String
                    let binary: String
                }
                let development: Addresses?
                let caPEM: String
            }
            let service: Service
        }
        guard let place = URL(string: url), ["http", "https"].contains(place.scheme), let host = place.host else {
            throw TestAPNsError(
                .refused, "CARILLON_MANAGEMENT_URL is \(url): set it to a URL such as http://localhost:2198.")
        }
        management = ManagementCalls(url: url, key: key)
        // A fixture without teams makes nothing. Its answer has the addresses and the authority.
        let made: Made = try await management.ask("POST", "/v1/fixtures", ManagementMessages.Fixture(teams: []))
        guard let addresses = made.service.development else {
            throw TestAPNsError(
                .refused,
                "The service at \(url) does not serve the development environment: start it with --environment development."
            )
        }
        // Foundation gives an IPv6 address with its brackets or without, by its version.
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        provider = try Self.address("CARILLON_PROVIDER_ADDRESS", addresses.provider, bare, environment)
        binaryPort = try Self.address("CARILLON_BINARY_ADDRESS", addresses.binary, bare, environment).port
        authorityPEM = made.service.caPEM
    }

    /// The address at which this machine reaches a port of the service.
    private static func address(
        _ variable: String,
        _ address: String,
        _ host: String,
        _ environment: [String: String],
    ) throws(TestAPNsError) -> ListenAddress {
        let mapped = environment[variable]
        guard var place = ListenAddress(mapped ?? address) else {
            throw TestAPNsError(
                .refused, "\(variable) is \(mapped ?? address): set it to a host and a port, such as localhost:2197.")
        }
        // An address that only that machine can reach, or every address of it: it is reached as the management API is.
        if mapped == nil, place.isLoopback || place.isEveryAddress { place.host = host }
        return place
    }
}
