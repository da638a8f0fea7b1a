import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let endpointPromises: [Promise] = [
        Promise("an endpoint of a handle is found by its digest, with the handle", findsEndpoint),
        Promise("an endpoint of the same name stays, and gets the key or none", keepsEndpoint),
        Promise("a handle has no more endpoints than its limit", limitsEndpoints),
        Promise("many that make endpoints of one handle do not exceed the limit together", limitsEndpointsTogether),
        Promise("a handle and its code are not stored if its endpoint is one too many", storesAllOrNothing),
        Promise("an endpoint is removed by its handle's grant only", removesEndpoint),
        Promise("the endpoints of a handle that is removed or forgotten are removed", removesEndpointsWithHandle),
        Promise("a handle that is registered again after its end has no endpoints", endsEndpoints),
        Promise("endpoints are listed in the order of their digests, in pages", listsEndpoints),
    ]

    private static func endpoint(
        _ number: UInt8, _ handle: StoredHandle, _ name: String = "mastodon\u{0}.example", vapid: [UInt8]? = nil
    ) -> HandleEndpoint {
        HandleEndpoint(
            handle: handle.handle, name: name, seed: [number, 1], digest: [number, 2], vapid: vapid)
    }

    @discardableResult
    private static func put(
        _ ports: Ports, _ handle: StoredHandle, _ endpoint: HandleEndpoint, code: UsedCode? = nil
    ) async throws -> HandleEndpoint? {
        try await ports.grants.put([handle], limit: 100, code: code, endpoint: endpoint)
    }

    private static func names(_ ports: Ports) async throws -> [String] {
        try await ports.endpoints.endpoints(after: nil, limit: 1000).map(\.name)
    }

    @Sendable
    private static func findsEndpoint(_ ports: Ports) async throws {
        let handle = try handle(1, of: try await grant(ports))
        let endpoint = endpoint(1, handle, vapid: [4, 5])
        #expect(try await put(ports, handle, endpoint) == endpoint)
        let found = try #require(try await ports.endpoints.endpoint(with: [1, 2]))
        #expect(found.endpoint == endpoint)
        #expect(found.handle == (try await stored(ports, handle)))
        #expect(try await ports.endpoints.endpoint(with: [1, 3]) == nil)
    }

    @Sendable
    private static func keepsEndpoint(_ ports: Ports) async throws {
        let handle = try handle(1, of: try await grant(ports))
        let first = endpoint(1, handle)
        try await put(ports, handle, first)
        for key in [[7, 8], nil, [9]] as [[UInt8]?] {
            var expected = first
            expected.vapid = key
            #expect(try await put(ports, handle, endpoint(2, handle, vapid: key)) == expected)
            #expect(try await ports.endpoints.endpoint(with: first.digest)?.endpoint == expected)
        }
        try await put(ports, handle, endpoint(3, handle, "other"))
        #expect(try await names(ports) == [first.name, "other"])
    }

    @Sendable
    private static func limitsEndpoints(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let (one, two) = (try handle(1, of: grant), try handle(2, of: grant))
        for number in 0..<UInt8(HandleEndpoint.maximumCount) {
            try await put(ports, one, endpoint(number, one, "\(number)"))
        }
        await #expect(throws: StoreError.tooManyEndpoints) { try await put(ports, one, endpoint(200, one, "more")) }
        #expect(try await put(ports, one, endpoint(200, one, "7"))?.digest == [7, 2])
        try await put(ports, two, endpoint(201, two, "more"))
        #expect(try await ports.endpoints.removeEndpoint(named: "7", of: one.handle, of: grant.id))
        try await put(ports, one, endpoint(202, one, "7"))
    }

    @Sendable
    private static func limitsEndpointsTogether(_ ports: Ports) async throws {
        let handle = try handle(1, of: try await grant(ports))
        for number in 0..<UInt8(HandleEndpoint.maximumCount - 2) {
            try await put(ports, handle, endpoint(number, handle, "\(number)"))
        }
        await withTaskGroup { group in
            for number in 110..<120 as Range<UInt8> {
                group.addTask { _ = try? await put(ports, handle, endpoint(number, handle, "\(number)")) }
            }
        }
        #expect(try await names(ports).count == HandleEndpoint.maximumCount)
    }

    @Sendable
    private static func storesAllOrNothing(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let handle = try handle(1, of: grant)
        for number in 0..<UInt8(HandleEndpoint.maximumCount) {
            try await put(ports, handle, endpoint(number, handle, "\(number)"))
        }
        let before = try await stored(ports, handle)
        let code = UsedCode(
            grant: grant.id, digest: [1], expires: Samples.later.advanced(by: .seconds(60)), now: Samples.moment)
        let again = try self.handle(1, of: grant, registered: Samples.later)
        await #expect(throws: StoreError.tooManyEndpoints) {
            try await put(ports, again, endpoint(200, handle, "more"), code: code)
        }
        #expect(try await stored(ports, handle) == before)
        try await put(ports, again, endpoint(200, handle, "1"), code: code)
    }

    @Sendable
    private static func removesEndpoint(_ ports: Ports) async throws {
        let (grant, other) = (try await grant(ports), try await grant(ports, "two"))
        let handle = try handle(1, of: grant)
        let endpoint = endpoint(1, handle)
        try await put(ports, handle, endpoint)
        #expect(try await !ports.endpoints.removeEndpoint(named: endpoint.name, of: handle.handle, of: other.id))
        #expect(try await !ports.endpoints.removeEndpoint(named: "other", of: handle.handle, of: grant.id))
        #expect(try await ports.endpoints.removeEndpoint(named: endpoint.name, of: handle.handle, of: grant.id))
        #expect(try await !ports.endpoints.removeEndpoint(named: endpoint.name, of: handle.handle, of: grant.id))
        #expect(try await names(ports) == [])
        try await put(ports, handle, self.endpoint(2, handle))
        #expect(try await ports.endpoints.endpoint(with: [1, 2]) == nil)
        try await ports.endpoints.removeEndpoint(with: [2, 2])
        #expect(try await names(ports) == [])
    }

    @Sendable
    private static func removesEndpointsWithHandle(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let handles = try [1, 2, 3].map { try handle($0, of: grant) }
        for (number, handle) in handles.enumerated() {
            try await put(ports, handle, endpoint(UInt8(number), handle, "\(number)"))
        }
        #expect(try await ports.grants.remove(handles[0].handle, of: grant.id))
        #expect(try await names(ports) == ["1", "2"])
        let end = HandleEnd(reason: .unregistered, moment: Samples.later, noted: Samples.later)
        try await ports.grants.end(handles[1].handle, end)
        #expect(try await names(ports) == ["2"])
        _ = try await ports.accounts.apply(.revokeGrant(grant.id, at: Samples.later))
        _ = try await ports.grants.removeOrphanedHandles(after: nil, limit: 10)
        #expect(try await names(ports) == [])
    }

    @Sendable
    private static func endsEndpoints(_ ports: Ports) async throws {
        let handle = try handle(1, of: try await grant(ports))
        let endpoint = endpoint(1, handle)
        try await put(ports, handle, endpoint)
        try await ports.grants.end(
            handle.handle, HandleEnd(reason: .unregistered, moment: Samples.later, noted: Samples.later))
        #expect(try await put(ports, handle, self.endpoint(2, handle))?.digest == [2, 2])
        #expect(try await ports.endpoints.endpoint(with: [1, 2]) == nil)
        let rules = GrantRules()
        let sweep = HandleSweep(rules: rules, at: Samples.moment.advanced(by: rules.handleAge))
        #expect(try await ports.grants.sweep(sweep, after: nil, limit: 10) == [handle.handle])
        #expect(try await names(ports) == [])
    }

    @Sendable
    private static func listsEndpoints(_ ports: Ports) async throws {
        let handle = try handle(1, of: try await grant(ports))
        for number in [3, 1, 2] as [UInt8] { try await put(ports, handle, endpoint(number, handle, "\(number)")) }
        let page = try await ports.endpoints.endpoints(after: nil, limit: 2)
        #expect(page.map(\.name) == ["1", "2"])
        #expect(try await ports.endpoints.endpoints(after: page[1].digest, limit: 2).map(\.name) == ["3"])
        let all = try await ports.endpoints.endpoints(after: nil, limit: 10)
        for endpoint in all { try await ports.endpoints.removeEndpoint(with: endpoint.digest) }
        try await ports.endpoints.fill(all)
        #expect(try await ports.endpoints.endpoints(after: nil, limit: 10) == all)
    }
}
