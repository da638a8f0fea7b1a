import HTTP2
import NIOCore
import Notifications
import Testing

@testable import ProviderAPI
@testable import ServiceTesting

/// Fields that the request before had in the same place are not read again, and judged all the same.
@Suite(.timeLimit(.minutes(2)))
struct RepeatedFieldTests {
    private static func request(_ headers: [(RequestHeader, String)]) -> ProviderRequest {
        let request = ProviderRequest(began: .uptimeNanoseconds(0))
        for (header, value) in headers {
            request.recordHeader(header)
            request.read(header, Array(value.utf8).span)
        }
        return request
    }

    private static let path = (RequestHeader.path, "/3/device/00")

    @Test func `A header is known by its place only if the request before was read up to there`() {
        var memory = FieldMemory()
        let (topic, priority) = (Array("apns-topic".utf8), Array("apns-priority".utf8))
        #expect(memory.header(topic.span, at: 0, isRepeated: false) == .topic)
        // Its name need not be looked at.
        #expect(memory.header(priority.span, at: 0, isRepeated: true) == .topic)
        #expect(memory.header(priority.span, at: 1, isRepeated: true) == .priority)
        memory.forget()
        #expect(memory.header(priority.span, at: 0, isRepeated: true) == .priority)
        #expect(memory.header(topic.span, at: FieldMemory.maximumFields, isRepeated: true) == .topic)
    }

    @Test func `A request with a header twice repeats nothing`() {
        var memory = FieldMemory()
        memory.keep(Self.request([Self.path, (.priority, "5")]))
        #expect(memory.hasMeaning(in: Self.request([Self.path])))
        #expect(memory.values?.priority.present == .considerate)
        memory.keep(Self.request([Self.path, (.priority, "5"), (.priority, "10")]))
        #expect(!memory.hasMeaning(in: Self.request([Self.path])))
    }

    @Test(arguments: ["/4/broadcasts/apps/com.example.app", "/1/handles"])
    func `A request with another meaning of its headers repeats nothing`(path: String) {
        var memory = FieldMemory()
        memory.keep(Self.request([(.path, path), (.pushType, "LiveActivity")]))
        #expect(!memory.hasMeaning(in: Self.request([Self.path])))
        memory.keep(Self.request([Self.path, (.pushType, "alert")]))
        let broadcast = Self.request([(.path, "/4/broadcasts/apps/com.example.app")])
        #expect(!memory.hasMeaning(in: broadcast))
    }

    @Test func `What is refused is refused again, and what follows it is read`() async throws {
        try await TestService.run { test in
            let client = try await test.connectProvider()
            let good = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken())
                .with("apns-push-type", "alert").with("apns-priority", "10")
            let changes: [(name: String, value: String?, reason: String?)] = [
                ("apns-priority", "10", nil), ("authorization", "bearer a.b.c", "InvalidProviderToken"),
                ("apns-priority", "7", "BadPriority"), ("apns-push-type", "shout", "InvalidPushType"),
                ("apns-topic", "two words", "BadTopic"), ("apns-topic", "com.example.nobody", "TopicDisallowed"),
                ("apns-topic", nil, "MissingTopic"),
            ]
            for (name, value, reason) in changes {
                for _ in 1...2 { #expect(try await client.send(good.with(name, value).fields).reason == reason) }
                for _ in 1...2 { #expect(try await client.send(good.fields).status == 200) }
            }
            await client.close()
        }
    }
}
