/// A provider's connection for broadcasts with one provider token, which must not change often.
struct BroadcastProvider {
    let client: WireClient
    let token: String

    init(_ test: TestService, certificate: ClientCertificate? = nil) async throws {
        token = try test.providerToken()
        if let certificate {
            client = try await test.connectProvider(certificate)
        } else {
            client = try await test.connectProvider()
        }
    }

    /// Sends a broadcast with this score as its content.
    func broadcast(
        to channel: String,
        score: Int = 1,
        id: String? = nil,
        _ change: (inout ChannelHeaders) -> Void = { _ in },
    ) async throws -> WireClient.Answer {
        var headers = ChannelHeaders(broadcastTo: channel, token: token)
        headers.body = #"{"aps":{"event":"update","content-state":{"score":\#(score)}}}"#
        if let id { headers.set("apns-request-id", id) }
        change(&headers)
        return try await client.send(headers.fields, body: headers.body)
    }
}
