import Testing

@testable import APNSDevice

@Suite struct ProviderServerAddressTests {
    /// The key and the secret of an installation would be readable on the network.
    @Test(arguments: ["http://example.com", "http://127.evil.example:2190", "http://localhost.evil.example"])
    func `A server elsewhere needs TLS`(_ url: String) {
        #expect(throws: DeviceError.self) { try ProviderServerAddress(url, authorityFile: nil) }
    }

    @Test(arguments: ["http://127.0.0.1:2190", "http://localhost", "http://[::1]:2190/base"])
    func `A server on this machine needs no TLS`(_ url: String) throws {
        #expect(try ProviderServerAddress(url, authorityFile: nil).tls == nil)
    }

    @Test func `An address is not a server name`() throws {
        #expect(try ProviderServerAddress("https://192.0.2.1", authorityFile: nil).serverName == nil)
        #expect(try ProviderServerAddress("https://[2001:db8::1]", authorityFile: nil).serverName == nil)
        #expect(
            try ProviderServerAddress("https://push.example.com", authorityFile: nil).serverName == "push.example.com")
    }
}
