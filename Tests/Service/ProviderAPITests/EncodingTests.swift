import HTTP2
import Notifications
import Service
import Testing

@testable import ProviderAPI
@testable import ServiceTesting

/// How `strict` judges the encoding of a client's requests (Guide, 2.3.3 and 2.3.4.1).
@Suite(.timeLimit(.minutes(2)))
struct EncodingTests {
    private static func headers(_ test: TestService) async throws -> ProviderHeaders {
        ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
            .with("apns-push-type", "alert")
    }

    @Test(arguments: Conformance.allCases)
    func `Literals that are never indexed are distinguished from those without indexing`(
        _ conformance: Conformance
    ) async throws {
        try await TestService.run {
            $0.conformance = conformance
        } _: { test in
            let headers = try await Self.headers(test)
            let good = try await test.connectProvider()
            for id in ["8b1e5b4a-9c0c-4d5e-8f00-0123456789ab", "8b1e5b4a-9c0c-4d5e-8f00-0123456789ac"] {
                #expect(try await good.send(headers.with("apns-id", id).fields).status == 200)
            }
            await good.close()
            let careless = try await WireClient.connect(
                port: try test.port(\.provider), authorityFile: test.description.ca, literals: .neverIndexed)
            let answer = try await careless.send(headers.fields)
            #expect(answer.reason == (conformance == .strict ? "Forbidden" : nil))
            if conformance == .strict {
                #expect(answer.body.contains("The header :path came as a literal never indexed (RFC 7541, 6.2.3)"))
            }
            await careless.close()
        }
    }

    @Test(arguments: Conformance.allCases)
    func `A PRIORITY frame is reported`(_ conformance: Conformance) async throws {
        try await TestService.run {
            $0.conformance = conformance
        } _: { test in
            let headers = try await Self.headers(test)
            let client = try await test.connectProvider()
            #expect(try await client.send(headers.fields).status == 200)
            // For stream 9, on which nothing depends.
            try await client.write([0, 0, 5, 2, 0, 0, 0, 0, 9, 0, 0, 0, 0, 16])
            let answer = try await client.send(headers.fields)
            #expect(answer.reason == (conformance == .strict ? "Forbidden" : nil))
            if conformance == .strict { #expect(answer.body.contains("a PRIORITY frame for stream 9")) }
            await client.close()
        }
    }

    /// Each header, with its correct forms in the first two requests.
    static let wanted: [(name: String, first: [FieldForm], then: [FieldForm])] = [
        (":path", [.withoutIndexing], [.withoutIndexing]),
        ("authorization", [.withoutIndexing], [.withoutIndexing]),
        ("apns-id", [.incremental], [.withoutIndexing]),
        ("apns-expiration", [.incremental], [.withoutIndexing]),
        ("apns-collapse-id", [.incremental], [.withoutIndexing]),
        (":method", [.indexed, .incremental], [.indexed, .incremental]),
        ("apns-topic", [.indexed, .incremental], [.indexed, .incremental]),
        ("user-agent", [.indexed, .incremental], [.indexed, .incremental]),
    ]

    @Test(arguments: wanted)
    func `The encoding of each header is recognised`(name: String, first: [FieldForm], then: [FieldForm]) {
        for form in FieldForm.allCases {
            var practice = EncodingPractice()
            let fault = practice.fault(in: Array(name.utf8).span, as: form)
            #expect((fault == nil) == first.contains(form))
            #expect(fault?.text.contains(name) != false)
            var later = EncodingPractice()
            _ = later.fault(in: Array(name.utf8).span, as: first[0])
            #expect((later.fault(in: Array(name.utf8).span, as: form) == nil) == then.contains(form))
        }
    }
}
