import {
  type Announcements,
  DndContext,
  KeyboardSensor,
  PointerSensor,
  closestCenter,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import {
  SortableContext,
  sortableKeyboardCoordinates,
  useSortable,
  verticalListSortingStrategy,
} from "@dnd-kit/sortable";
import { GripVertical } from "lucide-react";
import type { ReactNode } from "react";

import { cn } from "@/ui/cn";

type Props = {
  /** The ids of the entries in their order. */
  ids: string[];
  /** Returns the name of an entry for screen readers. */
  nameOf: (id: string) => string;
  onMove: (from: number, to: number) => void;
  onDragging?: (dragging: boolean) => void;
  children: ReactNode;
};

const instructions = {
  draggable:
    "Press space or enter to pick up the entry. While it is picked up, move it with the arrow keys. " +
    "Press space or enter again to drop it, or escape to cancel.",
};

const vertically = ({ transform }: { transform: { x: number; y: number; scaleX: number; scaleY: number } }) => ({
  ...transform,
  x: 0,
});

/** A vertical list whose entries, of type SortableEntry, are moved with the pointer or the keyboard. */
export function Sortable({ ids, nameOf, onMove, onDragging, children }: Props) {
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    // Smooth scrolling would make an entry follow its key late, or not at all on a busy device.
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates, scrollBehavior: "auto" }),
  );
  const name = (id: string | number) => nameOf(String(id));
  const place = (id: string | number) => `position ${ids.indexOf(String(id)) + 1} of ${ids.length}`;
  const announcements: Announcements = {
    onDragStart: ({ active }) => `Picked up ${name(active.id)} at ${place(active.id)}.`,
    onDragOver: ({ active, over }) => (over ? `${name(active.id)} is at ${place(over.id)}.` : undefined),
    onDragEnd: ({ active, over }) => `${name(active.id)} was dropped at ${place((over ?? active).id)}.`,
    onDragCancel: ({ active }) => `Cancelled. ${name(active.id)} stays at ${place(active.id)}.`,
  };
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={closestCenter}
      modifiers={[vertically]}
      accessibility={{ announcements, screenReaderInstructions: instructions }}
      onDragStart={() => onDragging?.(true)}
      onDragCancel={() => onDragging?.(false)}
      onDragEnd={({ active, over }) => {
        onDragging?.(false);
        const [from, to] = [ids.indexOf(String(active.id)), over ? ids.indexOf(String(over.id)) : -1];
        if (to >= 0 && from !== to) onMove(from, to);
      }}
    >
      <SortableContext items={ids} strategy={verticalListSortingStrategy}>
        {children}
      </SortableContext>
    </DndContext>
  );
}

type EntryProps = { id: string; name: string; className?: string; children: (handle: ReactNode) => ReactNode };

/** An entry of a sortable list. It renders its children with a handle that moves it. */
export function SortableEntry({ id, name, className, children }: EntryProps) {
  const { attributes, listeners, setNodeRef, setActivatorNodeRef, transform, transition, isDragging } = useSortable({
    id,
  });
  const handle = (
    <button
      type="button"
      ref={setActivatorNodeRef}
      {...attributes}
      {...listeners}
      aria-label={`Move ${name}`}
      className={cn(
        "grid size-9 shrink-0 cursor-grab touch-none place-items-center rounded-md text-muted-foreground",
        "hover:bg-muted pointer-coarse:size-11",
      )}
    >
      <GripVertical className="size-4" aria-hidden />
    </button>
  );
  return (
    <li
      ref={setNodeRef}
      style={{ transform: transform ? `translate3d(0, ${transform.y}px, 0)` : undefined, transition }}
      className={cn(isDragging && "relative z-10 shadow-lg", className)}
    >
      {children(handle)}
    </li>
  );
}
