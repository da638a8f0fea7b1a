import Testing

@testable import Service

/// How many requests the journal keeps from the start (docs/settings.md).
struct JournalSettingTests {
    @Test func `A service for tests keeps ten thousand requests, another none`() {
        #expect(Settings().keptRequests == 0)
        var inMemory = Settings()
        inMemory.store = .memory
        #expect(inMemory.keptRequests == 10_000)
        var acceptingAny = Settings()
        acceptingAny.accept = .any
        #expect(acceptingAny.keptRequests == 10_000)
    }

    @Test func `A number that is set counts`() {
        var settings = Settings()
        settings.accept = .any
        settings.journal = 0
        #expect(settings.keptRequests == 0)
    }
}
