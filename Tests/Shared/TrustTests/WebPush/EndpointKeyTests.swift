import Notifications
import Testing
import Trust

/// The endpoints of Web Push subscriptions.
@Suite("Endpoints of Web Push")
struct EndpointKeyTests {
    private let key = EndpointKey([UInt8](repeating: 1, count: 32))

    @Test
    func `An endpoint depends on the key, the random bytes and the environment, and on nothing else`() throws {
        let key = try #require(key)
        let seed = EndpointKey.makeSeed()
        let endpoint = try #require(key.endpoint(of: seed, in: .production))
        #expect(key.endpoint(of: seed, in: .production) == endpoint)
        #expect(key.endpoint(of: seed, in: .development) != endpoint)
        #expect(key.endpoint(of: EndpointKey.makeSeed(), in: .production) != endpoint)
        let other = try #require(EndpointKey(EndpointKey.makeSecret()))
        #expect(other.endpoint(of: seed, in: .production) != endpoint)
        #expect(EndpointKey.digest(of: endpoint) != endpoint.bytes)
        #expect(EndpointKey([1]) == nil)
        #expect(seed.count == 16)
    }

    @Test
    func `An endpoint has one text of 43 characters`() throws {
        let endpoint = try #require(key?.endpoint(of: [1, 2, 3], in: .production))
        #expect(endpoint.text.utf8.count == 43)
        #expect(EndpointID(endpoint.text) == endpoint)
        #expect(endpoint.url(at: "https://h") == "https://h/wp/\(endpoint.text)")
        #expect(EndpointID(endpoint.text + "=") == nil)
        #expect(EndpointID(String(endpoint.text.dropLast())) == nil)
        // 43 characters have two bits more than 32 bytes. They must be zero.
        #expect(EndpointID(String(repeating: "A", count: 42) + "B") == nil)
        #expect(EndpointID(String(repeating: "A", count: 43)) != nil)
    }
}
