import { useInfiniteQuery } from "@tanstack/react-query";

import type { ListQuery } from "@/api/queries";

import { Button } from "./button";

/** Loads a list page by page, with keyset pagination. */
export function useList<T>(list: ListQuery<T>, options?: { refetchInterval?: number }) {
  const query = useInfiniteQuery({ ...list, ...options });
  return { ...query, rows: query.data?.pages.flatMap((page) => page.data) ?? [] };
}

/** The button that loads the next page of a list. */
export function ShowMore({
  list,
}: {
  list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}) {
  if (!list.hasNextPage) return null;
  return (
    <div className="mt-3 text-center">
      <Button variant="outline" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        Show more
      </Button>
    </div>
  );
}
