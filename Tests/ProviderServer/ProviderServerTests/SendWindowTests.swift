import CommonTesting
import Foundation
import Storage
import Notifications
import Testing

@testable import CampaignStore
@testable import ProviderServer

/// Small values that decide how a message is sent.
struct SendWindowTests {
    @Test func `The window shrinks with each lost connection and grows with answers`() {
        let window = SendWindow()
        let full = ProviderServerLimits.inFlight
        #expect(window.size == full)
        for _ in 0..<full { window.grow() }
        #expect(window.size == full)
        window.shrink()
        #expect(window.size == full / 4)
        for _ in 0..<window.size { window.grow() }
        #expect(window.size == full / 4 + full / 8)
        for _ in 0..<10 { window.shrink() }
        #expect(window.size == ProviderServerLimits.smallestWindow)
        for _ in 0..<20 * full { window.grow() }
        #expect(window.size == full)
    }

    @Test func `Nearly all bad tokens among the first answers stop a message, and later ones do not`() {
        let all = FirstAnswers(isOver: false)
        for _ in 1..<ProviderServerLimits.fewestAnswers { #expect(!all.add(isBadToken: true)) }
        #expect(all.add(isBadToken: true))
        let resumed = FirstAnswers(isOver: true)
        for _ in 0..<1000 { #expect(!resumed.add(isBadToken: true)) }
        let few = FirstAnswers(isOver: false)
        for number in 0..<ProviderServerLimits.firstAnswers { #expect(!few.add(isBadToken: number % 8 != 0)) }
        for _ in 0..<1000 { #expect(!few.add(isBadToken: true)) }
    }

    @Test func `A duration is read`() {
        let expected: [(String, Duration)] = [
            ("PT5S", .seconds(5)), ("PT0.5S", .milliseconds(500)), ("PT1M30S", .seconds(90)),
            ("P30D", .seconds(2_592_000)),
            ("P1DT2H", .seconds(93_600)), ("P2W", .seconds(1_209_600)), ("PT1.005S", .milliseconds(1_005)),
        ]
        for (text, duration) in expected { #expect(Duration(iso8601: text, allowsWeeks: true) == duration, "\(text)") }
        for text in ["", "P", "PT", "P1DT", "5S", "P1Y", "P1M", "PT-5S", "PT5", "pt5s", "PT123456789S", "PT٥S"] {
            #expect(Duration(iso8601: text, allowsWeeks: true) == nil, "\(text)")
        }
    }

    @Test func `A store whose write-ahead log was deleted does not open`() async throws {
        try await withTemporaryPath { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let path = folder + "/" + SQLiteCampaignStore.fileName
            await (try SQLiteCampaignStore(folder: folder, now: ProviderClock.system.now)).close()
            // A process that is killed leaves the index of the log. Somebody deletes the log.
            try? FileManager.default.removeItem(atPath: path + "-wal")
            _ = FileManager.default.createFile(atPath: path + "-shm", contents: Data())
            var failure: StoreError?
            do throws(StoreError) {
                await (try SQLiteCampaignStore(folder: folder, now: ProviderClock.system.now)).close()
            } catch {
                failure = error
            }
            #expect(failure?.code == .unreadable && failure?.cause.contains("provider.sqlite-wal is missing") == true)
            try FileManager.default.removeItem(atPath: path + "-shm")
            await (try SQLiteCampaignStore(folder: folder, now: ProviderClock.system.now)).close()
        }
    }
}
