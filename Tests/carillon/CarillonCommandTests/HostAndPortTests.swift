import CommandSupport
import Testing

/// The addresses that commands take.
struct HostAndPortTests {
    @Test(
        arguments: [
            ("127.0.0.1:2197", "127.0.0.1", 2197), ("[::1]:0", "::1", 0),
            ("https://push.example.com", "push.example.com", 443),
            ("HTTPS://push.example.com:2197", "push.example.com", 2197),
            ("https://push.example.com/", "push.example.com", 443),
        ] as [(String, String, Int)])
    func `An address with or without its scheme`(_ text: String, _ host: String, _ port: Int) throws {
        let address = try HostAndPort(text)
        #expect(address.host == host && address.port == port)
    }

    @Test(arguments: [
        "http://push.example.com", "https://", "https://user:secret@push.example.com", "user:secret@push.example.com",
        "https://push.example.com/3/device", "https://push.example.com?secret", "push.example.com:65536",
    ])
    func `What is no address is refused without showing a password`(_ text: String) {
        let error = #expect(throws: CommandError.self) { try HostAndPort(text) }
        #expect(error.map { "\($0)".contains("secret") } == false)
    }
}
